"""The Event Webhook of the local SendGrid: what becomes of each mail it took, posted and signed as the real one does.

It is off until told where to post: ``Inbox.events(url=...)``. Every mail that SendGrid took yields events, also one whose
sender got no answer. What happens to a mail is drawn by rates, or said by its recipient's address: ``bounce@mail.org``,
``spamreport+7@mail.org`` (see Fate), or ordered by ``Inbox.emit()``. Posting, too, can be made to go wrong: see EventPlan.
"""
