"""What travels over brokers, described for other languages: an AsyncAPI document made of the structs themselves."""

from stepward.transport.asyncapi.document import document

__all__ = ["document"]
