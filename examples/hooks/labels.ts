/**
 * A file of labels for a classifier: the best classes by name, in place of its scores. `-o labels=` names the file,
 * with a label per line in the order of the scores; `-o top=` is the number of classes.
 *
 *     kserving --driver null --hooks examples/hooks/labels.ts -o labels=examples/hooks/labels/moods.txt -o top=2 \
 *              --http-enable
 *     curl http://localhost:9001/v1/models/default:predict -d '{"inputs": {"scores": [[0.5, 2.5, 1.5]]}}'
 *
 * The null driver answers with the scores that it gets; a classifier of your own takes its place.
 */
import { readFile } from "node:fs/promises";
import { createTensor, defineHooks, ServingError, type Tensor, topK } from "kserving";

export default defineHooks({
  options: {
    labels: { type: "string", help: "File with a label per line." },
    top: { type: "integer", min: 1, default: 5, help: "Classes in an answer." },
  },

  async init_hook({ labels, top = "5" }) {
    if (labels === undefined) throw new ServingError("failed_precondition", "Name the file of labels: -o labels=FILE.");
    const text = await readFile(labels, "utf8");
    return { labels: text.trimEnd().split(/\r?\n/), top: Number(top) };
  },

  postprocess(outputs, ctx) {
    const { labels, top } = ctx.global_ctx as { labels: string[]; top: number };
    const [scores] = Object.values(outputs) as [Tensor];
    const classes = scores.shape.at(-1);
    if (classes !== labels.length) {
      throw new ServingError(
        "failed_precondition",
        `The model has ${classes} classes, the file ${labels.length} labels.`,
      );
    }
    const { indices, values } = topK(scores, top);
    const names = [...indices.data].map((index) => Buffer.from(labels[index] as string));
    return { label: createTensor("bytes", indices.shape, names), score: values };
  },
});
