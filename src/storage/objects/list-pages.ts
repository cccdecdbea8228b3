import { ServingError } from "../../errors.ts";
import type { ListOptions, RemoteFile } from "../storage-client.ts";
import { tooManyFiles } from "../too-many-files.ts";

/** One part of a list. */
export interface ListPage {
  readonly files: readonly RemoteFile[];
  /** Token for the request of the next part; undefined after the last one. */
  readonly next: string | undefined;
}

/** Parts of a list, far more than its greatest number of files take. */
const MAX_PAGES = 10_000;

/**
 * The files of all parts of a list; `ask` gets what the part before has named. Throws {@link tooManyFiles} as soon as
 * there are more, and `unavailable` for a list without end.
 */
export async function listPages(
  { maxFiles }: ListOptions,
  ask: (next: string | undefined) => Promise<ListPage>,
): Promise<RemoteFile[]> {
  const files: RemoteFile[] = [];
  for (let next: string | undefined, isLast = false, pages = 1; !isLast; pages++) {
    const page: ListPage = await ask(next);
    if (files.length + page.files.length > maxFiles) throw tooManyFiles(maxFiles);
    files.push(...page.files);
    isLast = page.next === undefined;
    if (!isLast && (page.next === next || pages === MAX_PAGES))
      throw new ServingError("unavailable", "the server's list does not come to its end");
    next = page.next;
  }
  return files;
}
