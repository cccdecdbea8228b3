import type { Socket } from "node:net";
import { TurnUse, turns } from "../limits/event-loop-turns.ts";
import { receiveInto } from "./node-members.ts";

/** Buffer for discarded bytes; all sockets share it. */
const WASTE = Buffer.allocUnsafeSlow(64 * 1024);

/** Reads and discards what a connection still receives, in turns with the work of other connections. */
export function discardInTurns(socket: Socket): void {
  const use = new TurnUse();
  const goOn = () => {
    turns.resume(use);
    socket.resume();
  };
  const discard = () => {
    if (socket.isPaused() || turns.begin(use) > 0) return;
    socket.pause();
    turns.wait(use, goOn);
  };
  receiveInto(socket, { writeBuffer: () => WASTE, commit: discard });
  socket.on("data", discard);
}
