import { type AttackRow, type ServerKind, type Target, tally } from "./attack-row.ts";
import { type Answered, ask } from "./http-attack.ts";

/** A body for a route, sent several times at once. */
export interface HostileBody {
  readonly name: string;
  readonly path: string;
  readonly body: () => Buffer | object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Requests at once. Default 2. */
  readonly times?: number;
}

/** Failures of the server's own; it may have no such thing, no room, or no time. */
const FAULT = /^5(?!0[134])/;
/** Places in the program, which no client is to see. */
const INTERNALS = /node_modules|\/(?:dist|src)\/| at \w+ \(/;

/** A row that fails also where an answer is a fault of the server's, or tells of its insides. */
export function bodyRow(server: ServerKind, { name, path, body: make, headers, times = 2 }: HostileBody): AttackRow {
  const prepare = () => {
    const made = make();
    const body = Buffer.isBuffer(made) ? made : Buffer.from(JSON.stringify(made));
    const message = { path, body, ...(headers && { headers }) };
    return async (target: Target) => {
      const answers = await Promise.all(Array.from({ length: times }, () => ask(target, message)));
      return { got: tally(answers.map(({ status }) => status)), ...problemOf(answers) };
    };
  };
  return { name, server, prepare };
}

function problemOf(answers: readonly Answered[]): { readonly problem?: string } {
  const fault = answers.find(({ status, start }) => FAULT.test(status) || INTERNALS.test(start));
  return fault === undefined ? {} : { problem: `answered ${fault.status}: ${fault.start.slice(0, 200)}` };
}
