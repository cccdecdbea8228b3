/** PyTorch has a C++ interface alone, so that its models run in a Python of their own: what is installed is an environment with an interpreter. */
export const pytorch = {
  name: "pytorch",
  title: "PyTorch",
  /** Packages that pip installs with torch, which works without numpy; our host does not. */
  needs: ["numpy"],
} as const;
