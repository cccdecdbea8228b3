import { quantile } from "../../test/helpers/quantile.ts";
import { tableLines } from "../../test/helpers/table.ts";
import type { LoadResult } from "./load/load.ts";

/** Rows of a check's table, and what went wrong. */
export class Report {
  readonly #rows: string[][] = [["phase", "sent", "answered", "failed", "p50 ms", "p99 ms"]];
  readonly #figures: string[] = [];
  readonly #failures: string[] = [];

  /** Adds a phase, in which no request may fail unless `mayFail` says so; at least one has to be answered. */
  add(phase: string, { sent, latencies, errors }: LoadResult, { mayFail = false } = {}): void {
    const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
    const sorted = [...latencies].sort((a, b) => a - b);
    const times = [0.5, 0.99].map((share) => (sorted.length === 0 ? "" : quantile(sorted, share).toFixed(0)));
    const row = [phase, String(sent), String(sorted.length), String(failed), ...times];
    this.#rows.push(row);
    console.log(`  ${row.join(" | ")}`);
    for (const [reason, count] of Object.entries(errors)) console.log(`    ${count} × ${reason}`);
    if (failed > 0 && !mayFail) this.fail(`${phase}: ${failed} of ${sent} requests failed`);
    if (sorted.length === 0) this.fail(`${phase}: no request was answered`);
  }

  /** Adds a line below the table. */
  figure(text: string): void {
    this.#figures.push(text);
    console.log(`  ${text}`);
  }

  /** Notes that something is not as it should be. */
  fail(text: string): void {
    this.#failures.push(text);
    console.error(`  FAILED: ${text}`);
  }

  /** Prints everything; returns whether all is as it should be. */
  print(): boolean {
    console.log(["", ...tableLines(this.#rows), "", ...this.#figures].join("\n"));
    for (const failure of this.#failures) console.error(`FAILED: ${failure}`);
    return this.#failures.length === 0;
  }
}
