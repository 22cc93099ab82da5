// The Agent of the contract kit: stepward contract-kit -- node contract/agent.mjs
import { Agent } from "stepward-agent";

const { CONTRACT_APP, CONTRACT_AGENT, CONTRACT_SERVICE, CONTRACT_CAPACITY, CONTRACT_STORE } = process.env;
const agent = new Agent({
  app: CONTRACT_APP ?? "contract",
  name: CONTRACT_AGENT ?? "contract",
  capacity: Number(CONTRACT_CAPACITY ?? 4),
  ...(CONTRACT_STORE === undefined ? {} : { store: CONTRACT_STORE }),
});

agent.operation("echo", (_, value) => value);
agent.operation("fill", (_, size) => "x".repeat(size));
agent.operation("report", async (call, values) => {
  for (const value of values) {
    await call.report(value);
  }
  return values.length;
});
agent.operation(
  "call",
  (call, body) => call.json("POST", `${CONTRACT_SERVICE}/call`, body),
  (call, result, argument) => call.json("POST", `${CONTRACT_SERVICE}/undo`, { result, argument }),
);
await agent.run();
