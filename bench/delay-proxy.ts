/**
 * Forwards TCP to the port in its first argument and holds every chunk for the milliseconds in its second, each way;
 * sends its address to the parent.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

const [port, delayMs] = process.argv.slice(2).map(Number) as [number, number];

const server = createServer((client) => {
  const target = connect(port, "127.0.0.1");
  forward(client, target);
  forward(target, client);
});
server.listen(0, "127.0.0.1", () => process.send?.({ grpc: `127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.on("disconnect", () => process.exit());

function forward(from: Socket, to: Socket): void {
  from.setNoDelay();
  from.on("data", (chunk) => setTimeout(() => to.writable && to.write(chunk), delayMs));
  from.on("error", () => to.destroy());
  from.on("close", () => to.destroy());
}
