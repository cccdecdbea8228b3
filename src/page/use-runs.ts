import { useEffect, useRef, useState } from "preact/hooks";
import type { PageTensor, PageVersion } from "../protocols/page/page-data.ts";
import type { Outcome } from "./answer-view.tsx";
import { callServer } from "./call-server.ts";
import { type Live, useLive } from "./camera-field.tsx";
import { type FormTensor, inferRequest, readOutputs } from "./form-tensor.ts";
import { toGreyFile } from "./grey-image.ts";
import { chooseFile, type InputState } from "./input-state.ts";
import { keepRequest } from "./kept-requests.tsx";
import type { Sides } from "./overlay-forms.ts";
import type { SentImage } from "./overlay-view.tsx";
import { addPart, NO_PARTS, type PartedAnswer, readParts } from "./stream-parts.ts";
import type { Form } from "./use-form.ts";

/** Runs of a form: once, in parts, or over the frames of a camera. */
export function useRuns(shown: PageVersion, form: Form) {
  const { model, signatures, isDecoupled } = shown;
  const { inputs = [], stateOf, changeFile, readInputs, toWritten } = form;
  const specs = signatures[0]?.outputs ?? [];
  const stopper = useRef<AbortController>(undefined);
  useEffect(() => () => stopper.current?.abort(), []);
  const [outcome, setOutcome] = useState<Outcome>({});
  const [isRunning, setRunning] = useState(false);
  const [count, setCount] = useState(0);
  const newest = useRef<object>(undefined);
  /** Takes the answer's place for a run; what an earlier one answers from now on is not shown. */
  const begin = () => {
    const own = {};
    newest.current = own;
    return () => newest.current === own;
  };
  const runInParts = async () => {
    stopper.current = new AbortController();
    const { signal } = stopper.current;
    setOutcome({});
    const onGrown = (parts: PartedAnswer) => setOutcome({ parts, specs });
    const parts = await inferParts({ shown, readInputs, signal, onGrown });
    setOutcome({ parts, specs });
    return parts.error === undefined;
  };
  const runOnce = async (isNewest: () => boolean) => {
    const { outcome: ran, changed } = await inferInEitherForm(shown, { inputs, stateOf, readInputs });
    if (!isNewest()) return ran.error === undefined;
    for (const [name, { file, isGrey, isEncoded }] of changed)
      changeFile(name, stateOf(name).file, { file, ...(isGrey && { isGrey }), ...(isEncoded && { isEncoded }) });
    setOutcome({ ...ran, specs, image: sentImage(inputs, (name) => changed.get(name) ?? stateOf(name)) });
    return ran.error === undefined;
  };
  const frames = useFrames(shown, form, (ran, image) => setOutcome({ ...ran, specs, image }));
  const run = async () => {
    frames.stop();
    const isNewest = begin();
    setRunning(true);
    const written = toWritten();
    const isAnswered = await (isDecoupled ? runInParts() : runOnce(isNewest));
    if (isAnswered) keepRequest(model, written);
    setCount((before) => before + 1);
    setRunning(false);
  };
  const live: Live = {
    ...frames,
    start: (input, video) => {
      begin();
      frames.start(input, video);
    },
  };
  return { outcome, isRunning, count, run, stop: () => stopper.current?.abort(), live };
}

/** Runs over the frames of a camera. */
function useFrames(
  shown: PageVersion,
  { inputs = [], stateOf, changeFile, readInputs }: Form,
  onOutcome: (outcome: Outcome, image: SentImage | undefined) => void,
): Live {
  return useLive(async ({ input, photo, signal }) => {
    const chosen = await chooseFile(photo);
    const own = stateOf(input);
    const file = own.isGrey === true ? await toGreyFile(chosen) : chosen;
    const withFrame = (name: string) => (name === input ? { ...own, file, isOmitted: false } : stateOf(name));
    const { outcome, changed } = await inferInEitherForm(shown, { inputs, stateOf: withFrame, readInputs });
    const sent = (name: string) => changed.get(name) ?? withFrame(name);
    if (signal.aborted) return false;
    const { isGrey = false, isEncoded = false } = sent(input);
    if (changed.size > 0) changeFile(input, own.file, { isGrey, isEncoded });
    onOutcome(outcome, sentImage(inputs, sent));
    return outcome.error === undefined;
  });
}

/** The first image among the inputs, with the size that its input has in the model. */
function sentImage(inputs: readonly PageTensor[], stateOf: (name: string) => InputState): SentImage | undefined {
  const sent = inputs.find(({ name }) => stateOf(name).file?.isImage);
  const file = sent && stateOf(sent.name).file;
  return file && { blob: file.source, sides: sidesOf(sent.shape ?? []) };
}

/** Height and width of an input of images: the two sizes that are not channels. */
function sidesOf(shape: readonly number[]): Sides | undefined {
  const [height = -1, width = -1] = shape.slice(-3).filter((size) => size !== 1 && size !== 3);
  return height > 4 && width > 4 ? { width, height } : undefined;
}

interface FormReader {
  readonly inputs: readonly PageTensor[];
  readonly stateOf: (name: string) => InputState;
  readonly readInputs: (read: (name: string) => InputState) => readonly FormTensor[];
}

/** A change of an input with a file, for a model that fails on the file as it is. */
interface Remedy {
  /** The model's words. */
  readonly failure: RegExp;
  readonly helps: (tensor: PageTensor, state: InputState) => boolean;
  readonly change: (state: InputState) => Promise<InputState>;
}

const REMEDIES: readonly Remedy[] = [
  {
    failure: /base64/i,
    helps: ({ datatype }, { file, isEncoded }) => datatype === "BYTES" && file !== undefined && isEncoded !== true,
    change: async (state) => ({ ...state, isEncoded: true }),
  },
  {
    failure: /number of channels.*Expected: 1;/s,
    helps: (_, { file }) => file?.isImage === true && file.isGrey !== true,
    change: async (state) => ({ ...state, file: state.file && (await toGreyFile(state.file)), isGrey: true }),
  },
];

type States = ReadonlyMap<string, InputState>;

/** Runs a request; once more with its files in another form if the model fails on them; tells which inputs have it. */
async function inferInEitherForm(
  shown: PageVersion,
  { inputs, stateOf, readInputs }: FormReader,
): Promise<{ readonly outcome: Outcome; readonly changed: States }> {
  const asIs = { outcome: await infer(shown, () => readInputs(stateOf)), changed: new Map() };
  const remedy = REMEDIES.find(({ failure }) => failure.test(asIs.outcome.error ?? ""));
  const wrong = inputs.filter((tensor) => remedy?.helps(tensor, stateOf(tensor.name)));
  if (remedy === undefined || wrong.length === 0) return asIs;
  try {
    const changes = wrong.map(async ({ name }) => [name, await remedy.change(stateOf(name))] as const);
    const changed = new Map(await Promise.all(changes));
    const outcome = await infer(shown, () => readInputs((name) => changed.get(name) ?? stateOf(name)));
    return outcome.error === undefined ? { outcome, changed } : asIs;
  } catch {
    // A browser decodes fewer kinds of images than the server.
    return asIs;
  }
}

/** Runs a version once on the inputs of a form; what fails is told, not thrown. */
export async function infer(
  { model, version }: PageVersion,
  readInputs: () => readonly FormTensor[],
): Promise<Outcome> {
  try {
    const request = inferRequest(readInputs());
    const started = performance.now();
    const response = await callServer(`v2/models/${encodeURIComponent(model)}/versions/${version}/infer`, request);
    const body = await response.arrayBuffer();
    const ms = performance.now() - started;
    return { outputs: readOutputs(body, response.headers.get("inference-header-content-length")), ms };
  } catch (reason) {
    return { error: reason instanceof Error ? reason.message : String(reason) };
  }
}

/** A request of a form for parts. */
interface PartsRequest {
  readonly shown: PageVersion;
  readonly readInputs: () => readonly FormTensor[];
  /** Aborts when a person has had enough. */
  readonly signal: AbortSignal;
  /** Takes the answer as it grows, as often as the screen shows it. */
  readonly onGrown: (answer: PartedAnswer) => void;
}

/** Runs a request whose answer comes in parts; resolves with all of it, also if it ends with an error. */
async function inferParts({ shown, readInputs, signal, onGrown }: PartsRequest): Promise<PartedAnswer> {
  const { model, version } = shown;
  const started = performance.now();
  let answer = NO_PARTS;
  let frame: number | undefined;
  const told = () => ({ ...answer, ms: performance.now() - started });
  const show = () => {
    frame = undefined;
    onGrown(told());
  };
  try {
    const path = `v2/models/${encodeURIComponent(model)}/versions/${version}/infer_stream`;
    const response = await callServer(path, { ...inferRequest(readInputs()), signal });
    for await (const outputs of readParts(response)) {
      answer = addPart(answer, outputs);
      frame ??= requestAnimationFrame(show);
    }
    return told();
  } catch (reason) {
    if (signal.aborted) return { ...told(), isStopped: true };
    return { ...told(), error: reason instanceof Error ? reason.message : String(reason) };
  } finally {
    if (frame !== undefined) cancelAnimationFrame(frame);
  }
}
