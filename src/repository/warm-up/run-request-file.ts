import type { Logger } from "../../observability/logger.ts";
import type { RecordedFor, RecordedRequest, RecordedRequests } from "../../serving/recorded-request.ts";
import { withRegularFile } from "./open-regular-file.ts";
import { runRecordedFile } from "./recorded-file.ts";
import { isTfRecordFile } from "./tf-records.ts";

/** Reads a request, once for each run, which may transfer its inputs. */
export type ReadRequest = () => Promise<RecordedRequest>;
/** Names the request in an error. */
export type Named = <Result>(title: string, run: () => Promise<Result>) => Promise<Result>;

/** The parts that reading a request file needs. */
interface Reading {
  readonly recorded: RecordedRequests;
  readonly target: RecordedFor;
  readonly log: Logger;
  readonly named: Named;
}

/** Runs the request of a JSON file, or the requests of a request log. Throws their errors, with the request named. */
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
  await runRecordedFile({ path, what: path, isStrict: false }, log, (record, place) =>
    named(place, async () => {
      const requests = await recorded.readLog(record, target);
      if (requests === undefined || "kind" in requests) return requests;
      for (const index of requests.keys())
        await run(async () => ((await recorded.readLog(record, target)) as typeof requests)[index]!);
      return undefined;
    }),
  );
}
