/**
 * A model whose output is its next input: one run for each step of a request. What the last step has left is kept for
 * the next request of the same `x-session`.
 *
 *     kserving --driver onnx --model-path test/fixtures/models/add-two-inputs.onnx \
 *              --hooks examples/hooks/stateful-loop.ts --http-enable
 *     curl http://localhost:9001/v1/models/default:predict -H 'x-session: ann' -d '{"inputs": {"steps": [1, 2, 3]}}'
 *
 * This model adds two numbers, so that the states are running totals; a recurrent network takes its place. The
 * sessions are those of one hook thread (`--workers 1`, the default): with several, a client's requests may meet
 * different ones.
 */
import { defineHooks, type Tensor } from "kserving";

/** Sessions that are remembered; the one that was used least recently makes room. */
const MAX_SESSIONS = 1000;

export default defineHooks({
  inputs: [{ name: "steps", dtype: "float32", shape: [-1] }],
  outputs: [{ name: "states", dtype: "float32", shape: [-1] }],
  init_hook: () => new Map<string, number>(),

  async process({ steps }, ctx, { driver }) {
    const sessions: Map<string, number> = ctx.global_ctx;
    const session = ctx.metadata["x-session"];
    let state = session === undefined ? 0 : (sessions.get(session) ?? 0);
    const states: number[] = [];
    for (const step of steps.data) {
      const { sum } = (await driver.predict({ a: [state], b: [step] })) as { sum: Tensor<"float32"> };
      state = sum.data[0] as number;
      states.push(state);
    }
    if (session !== undefined) remember(sessions, session, state);
    return { states: Float32Array.from(states) };
  },
});

function remember(sessions: Map<string, number>, session: string, state: number): void {
  sessions.delete(session);
  sessions.set(session, state);
  const [oldest] = sessions.keys();
  if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
}
