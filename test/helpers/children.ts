import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();

/** Makes sure that a program we started does not outlive us, however we end. */
export function watchChild<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Ends every program that we started, and us, at Ctrl-C or SIGTERM. */
export function endChildrenOnSignal(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      killChildren();
      process.exit(signal === "SIGINT" ? 130 : 143);
    });
  }
  process.once("exit", killChildren);
}

function killChildren(): void {
  for (const child of running) child.kill("SIGKILL");
}
