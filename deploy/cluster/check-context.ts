import type { Cluster } from "./cluster.ts";
import type { Report } from "./report.ts";
import type { Subject } from "./subjects.ts";
import type { ImageArchives } from "./write-images.ts";

/** Values that the parts of the check have in common. */
export interface CheckContext {
  readonly cluster: Cluster;
  readonly report: Report;
  readonly helm: string;
  readonly images: ImageArchives;
  /** Folder of what is built once. */
  readonly cache: string;
  /** Folder of models on the node, which pods mount. */
  readonly models: string;
  /** A request to each of the models. */
  readonly subjects: readonly Subject[];
}
