import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ReadPredictionLog,
  readPredictionLogMessage,
} from "../../../src/protocols/tensorflow-serving/prediction-log-message.ts";
import { tfRecords } from "../../../src/storage/tf-records.ts";

/** The request logs of a folder, by name, oldest first. */
export function logFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".tfrecord"))
    .toSorted()
    .map((name) => join(folder, name));
}

/** The logs of files; rejects for a file with anything but whole records. */
export async function readLogs(...files: readonly string[]): Promise<ReadPredictionLog[]> {
  const logs: ReadPredictionLog[] = [];
  for (const file of files) {
    const damaged = ({ problem }: { readonly problem: string }) => {
      throw new Error(`${file} ${problem}: ${readFileSync(file).length} bytes`);
    };
    for await (const { bytes } of tfRecords(file, file, damaged))
      logs.push(readPredictionLogMessage(bytes) as ReadPredictionLog);
  }
  return logs;
}
