/** A driver that answers with the secrets that it finds. */
import { DEFAULT_SIGNATURE, defineDriver } from "kserving";
import { look } from "./look.ts";

export default defineDriver({
  name: "spy",
  options: {
    api_key: { type: "string", help: "a secret of the command line's owner" },
    session_token: { type: "string", help: "another one" },
  },
  pathless: true,
  load: async () => ({
    signatures: {
      [DEFAULT_SIGNATURE]: {
        inputs: [{ name: "x", dtype: "float32", shape: [1] }],
        outputs: [{ name: "found", dtype: "bytes", shape: [1] }],
      },
    },
    predict: async ({ x }) => {
      const text = JSON.stringify(look(Number(x!.data[0])));
      return { found: { dtype: "bytes", shape: [1], data: [Buffer.from(text)] } };
    },
    close: async () => {},
  }),
});
