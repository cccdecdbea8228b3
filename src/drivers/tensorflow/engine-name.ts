/**
 * Runtime of a model: `native` libtensorflow, `portable` our importer onto tfjs, `tfjs` for model.json, `tflite`
 * LiteRT, `keras` for .h5 and .keras.
 */
export type EngineName = "native" | "portable" | "tfjs" | "tflite" | "keras";
