// The mail Agent of the orders example in Node: takes requests, calls the mail service, answers.
import { Agent } from "stepward-agent";

const SERVICE = process.env.ORDERS_MAIL_URL ?? "http://127.0.0.1:8104";
const STORE = process.env.ORDERS_STORE_ID; // the one store that it serves, if given
const agent = new Agent({ app: "orders", name: "mail", ...(STORE && { store: STORE }) });

agent.operation("send", async (call, order_id, template) => {
  const answer = await call.json("POST", `${SERVICE}/send`, { order_id, template });
  return answer.message_id;
});

await agent.run();
