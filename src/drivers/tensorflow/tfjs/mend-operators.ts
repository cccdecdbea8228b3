import { registerOp } from "@tensorflow/tfjs-converter";
import { linalg, type Scalar, type Tensor2D } from "@tensorflow/tfjs-core";

/** Replaces what tfjs-converter 4.22 computes wrongly. Once is enough, more often does no harm. */
export function mendOperators(): void {
  // It takes the number of lower diagonals for that of the upper ones too.
  registerOp("MatrixBandPart", ({ inputs: [matrix, lower, upper] }) =>
    linalg.bandPart(matrix as Tensor2D, lower as Scalar, upper as Scalar),
  );
}
