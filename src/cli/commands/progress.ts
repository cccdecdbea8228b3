/** Tells people at a terminal what takes long, on one line of standard error that is gone afterwards. */
export async function withProgress<Result>(text: string, run: () => Promise<Result>): Promise<Result> {
  if (!process.stderr.isTTY) return run();
  process.stderr.write(`${text} …`);
  try {
    return await run();
  } finally {
    process.stderr.write("\r\u001b[K");
  }
}
