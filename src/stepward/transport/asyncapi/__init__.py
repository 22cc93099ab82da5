"""An AsyncAPI document of the messages at brokers, for other languages, made from the structs themselves."""

from stepward.transport.asyncapi.document import document

__all__ = ["document"]
