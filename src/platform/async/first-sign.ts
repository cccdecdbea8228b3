/**
 * Milliseconds in which a process or thread of ours has to say anything: it has only begun then. If the system
 * refuses its first threads, a runtime may wait for them for ever.
 */
export const FIRST_SIGN_MS = 30_000;
/** Parts of that time; those in which this process was stopped do not count. */
const PARTS = 10;

/** Calls back unless the returned function is called within the time. */
export function expectFirstSign(onSilent: () => void, withinMs = FIRST_SIGN_MS): () => void {
  let left = PARTS;
  const end = () => clearInterval(timer);
  const timer = setInterval(() => {
    if (--left > 0) return;
    end();
    // What it has said may be there to be read.
    setImmediate(() => setImmediate(() => left === 0 && onSilent()));
  }, withinMs / PARTS).unref();
  return () => {
    left = -1;
    end();
  };
}

/** The end of a process or thread that was silent, and what to do, to follow its name. */
export function silence(withinMs = FIRST_SIGN_MS): string {
  const rooms = "processes and threads left for it (ulimit -u, a container's pids limit), and time of its processors";
  return `said nothing for ${withinMs / 1000} s after its start and was ended; does this machine have ${rooms}?`;
}
