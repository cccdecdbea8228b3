import type { Logger } from "../../observability/logger.ts";
import type { RecordedFor, RecordedRequest, RecordedRequests } from "../../serving/recorded-request.ts";
import { withRegularFile } from "./open-regular-file.ts";
import { runRecordedFile } from "./recorded-file.ts";
import { isTfRecordFile } from "./tf-records.ts";

/** Reads a request; again for each run, which may transfer its inputs. */
export type ReadRequest = () => Promise<RecordedRequest>;
/** Says in an error which request it was. */
export type Named = <Result>(title: string, run: () => Promise<Result>) => Promise<Result>;

/** The parts that reading a request file needs. */
interface Reading {
  readonly recorded: RecordedRequests;
  readonly target: RecordedFor;
  readonly log: Logger;
  readonly named: Named;
}

/** Runs the request of a JSON file, or those of a request log. Throws what they fail with, named. */
export async function runRequestFile(
  path: string,
  { recorded, target, log, named }: Reading,
  run: (read: ReadRequest) => Promise<void>,
): Promise<void> {
  const title = `The warm-up request ${path}`;
  if (!(await isTfRecordFile(path, title))) {
    const body = await withRegularFile(path, title, ({ file }) => file.readFile());
    return named(title, () => run(() => recorded.readJson(body, target)));
  }
  await runRecordedFile({ path, what: path, isLimited: false }, log, (record, place) =>
    named(place, async () => {
      const requests = await recorded.readLog(record, target);
      if (typeof requests !== "object") return requests;
      for (const index of requests.keys())
        await run(async () => ((await recorded.readLog(record, target)) as typeof requests)[index]!);
      return undefined;
    }),
  );
}
