import { LiveLine } from "../live-line.ts";

/** Tells people at a terminal what takes long, on one line of standard error that is gone afterwards. */
export async function withProgress<Result>(text: string, run: () => Promise<Result>): Promise<Result> {
  const line = new LiveLine();
  line.show(() => `${text} …`);
  try {
    return await run();
  } finally {
    line.clear();
  }
}
