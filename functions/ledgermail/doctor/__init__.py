"""The doctor: what is wrong with a deployment, seen from inside, and what to do about it."""
