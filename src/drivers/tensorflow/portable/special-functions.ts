const SERIES_LIMIT = 0.5;

/** The error function, to float32's precision. */
export function erf(x: number): number {
  if (Math.abs(x) < SERIES_LIMIT) return erfSeries(x);
  return 1 - erfc(x);
}

/**
 * Its complement, 1 - erf(x), relatively precise for large x too. Chebyshev fit of
 * Numerical Recipes §6.2, error below 1.2e-7.
 */
export function erfc(x: number): number {
  if (Math.abs(x) < SERIES_LIMIT) return 1 - erfSeries(x);
  if (!Number.isFinite(x)) return Number.isNaN(x) ? x : x > 0 ? 0 : 2;
  const z = Math.abs(x);
  const t = 1 / (1 + 0.5 * z);
  const exponent = COEFFICIENTS.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
  const tail = t * Math.exp(-z * z + exponent);
  return x >= 0 ? tail : 2 - tail;
}

const COEFFICIENTS = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
  0.17087277,
];

/** Taylor's series about 0, which loses nothing where 1 - erfc would. */
function erfSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 12; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}
