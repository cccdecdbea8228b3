import type { DownloadState } from "../../storage/download-progress.ts";
import { printable } from "../../text/printable.ts";
import { progressBar } from "../../text/progress-bar.ts";
import type { LiveLine } from "../live-line.ts";

/** Shows the downloads under way on a line that changes; returns what takes their states. */
export function drawDownloads(line: LiveLine): (state: DownloadState) => void {
  const running = new Map<string, DownloadState>();
  return (state) => {
    if (state.isOver) running.delete(state.address);
    else running.set(state.address, state);
    if (running.size === 0) line.clear();
    else line.show(() => downloadsText([...running.values()]));
  };
}

/** One bar for all: `████░░░░  50 %  1.0 MB of 2.0 MB  s3://models/emotion.onnx`. */
function downloadsText(states: readonly DownloadState[]): string {
  const done = states.reduce((sum, { doneBytes }) => sum + doneBytes, 0);
  const total = states.reduce((sum, { totalBytes = Number.NaN }) => sum + totalBytes, 0);
  const what = states.length === 1 ? states[0]?.address : `${states.length} downloads`;
  return printable(`${progressBar(done, Number.isNaN(total) ? undefined : total)}  ${what}`);
}
