import { startFaultProxy } from "../../testkit/proxies/fault-proxy.js";

const [serverPort, milliseconds] = process.argv.slice(2).map(Number) as [number, number];
const proxy = await startFaultProxy(serverPort);
proxy.delayReplies(milliseconds);
process.send!(proxy.url);
process.once("disconnect", () => process.exit(0));
