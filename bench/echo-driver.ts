/** A user's own driver that returns its inputs, in a model thread: all that is left is the server's own cost. */
import { DEFAULT_SIGNATURE, defineDriver } from "kserving";

export default defineDriver({
  name: "echo",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { [DEFAULT_SIGNATURE]: {} },
    predict: async (inputs) => inputs,
    close: async () => {},
  }),
});
