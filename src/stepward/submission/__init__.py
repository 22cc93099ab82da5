"""The submission process: messages from a queue become tasks, once each, together with the application's own rows."""

from stepward.submission.acceptance import Acceptance
from stepward.submission.declaration import Accepted, Message, SubmissionQueue
from stepward.submission.misplaced_messages import MisplacedMessages
from stepward.submission.partition_router import PartitionRouter
from stepward.submission.submitter import Submitter

__all__ = ["Acceptance", "Accepted", "Message", "MisplacedMessages", "PartitionRouter", "SubmissionQueue", "Submitter"]
