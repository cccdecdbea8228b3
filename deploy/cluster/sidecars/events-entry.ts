/** Takes CloudEvents at a host and a port until its standard input ends; then it prints them as JSON. */
import { once } from "node:events";
import { collectEvents } from "./collect-events.ts";

const [host, port] = process.argv.slice(2);
const { received, close } = await collectEvents({ host: host as string, port: Number(port) });
process.stdin.resume();
await once(process.stdin, "end");
close();
process.stdout.write(JSON.stringify(received), () => process.exit());
