export { Agent } from "./agent.js";
export type { AgentOptions, Operation } from "./agent.js";
export { Call } from "./call.js";
export { OperationError, Refused, SettingsError, Unavailable } from "./errors.js";
export { WIRE_VERSION } from "./wire.js";
export type { ErrorObject, ReplyEvent, RequestEvent } from "./wire.js";
