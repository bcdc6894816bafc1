"""Events: what the provider tells later, what that proves, and who must not be mailed any more."""
