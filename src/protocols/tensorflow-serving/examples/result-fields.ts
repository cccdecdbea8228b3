/** Field numbers of ClassificationResponse and RegressionResponse. */
export const RESPONSE = { result: 1, modelSpec: 2 } as const;
/** Field numbers of ClassificationResult, Classifications and Class. */
export const [CLASSIFICATIONS, CLASSES, CLASS] = [1, 1, { label: 1, score: 2 }] as const;
/** Field numbers of RegressionResult and Regression. */
export const [REGRESSIONS, REGRESSION_VALUE] = [1, 1] as const;
/** Field numbers of MultiInferenceResponse and InferenceResult. */
export const [RESULTS, INFERENCE_RESULT] = [1, { modelSpec: 1, classify: 2, regress: 3 }] as const;
