"""A local Resend, served beside the local SendGrid: the same mailbox, the same faults, the same clock.

Start it with ``emulator.inbox.start()``; its address is ``Inbox.resend_url``, its key ``emulator.inbox.RESEND_KEY``.
"""
