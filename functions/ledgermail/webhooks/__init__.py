"""Webhooks: telling a customer's server that a mail was accepted, and only a public one."""
