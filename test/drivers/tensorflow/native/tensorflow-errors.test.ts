import { expect, test } from "vitest";
import { failedNode, failureText } from "../../../../src/drivers/tensorflow/native/tensorflow-errors.ts";

test.each([
  [
    "the marks of nodes",
    "indices = 7 is not in [0, 3)\n\t [[{{function_node __inference_gather_110}}{{node Gather}}]]",
    "indices = 7 is not in [0, 3)",
    "Gather",
  ],
  [
    "what comes after the reason",
    "2 root error(s) found.\n  (0) INVALID_ARGUMENT: no image\n\t [[{{node Decode}}]]\n  (1) INVALID_ARGUMENT: more\n0 successful operations.",
    "no image",
    "Decode",
  ],
  [
    "where in a Python program the node was made",
    "Detected at node 'dense/MatMul' defined at (most recent call last):\nMatrix size-incompatible: In[0]: [2,2], In[1]: [3,2]\n\t [[{{node dense/MatMul}}]]",
    "Matrix size-incompatible: In[0]: [2,2], In[1]: [3,2]",
    "dense/MatMul",
  ],
  [
    "paths of the server",
    "/home/someone/words.txt; No such file or directory",
    "(path); No such file or directory",
    undefined,
  ],
  ["nothing of a plain text", "The graph couldn't be sorted.", "The graph couldn't be sorted", undefined],
  ["even everything", "[[{{node y}}]]", "no reason given", "y"],
])("the text of a failure leaves out %s", (_what, message, text, node) => {
  expect(failureText(new Error(message))).toBe(text);
  expect(failedNode(new Error(message))).toBe(node);
});
