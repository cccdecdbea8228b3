/**
 * PyTorch has only a C++ interface, so its models run in Python: the installation is
 * an environment with an interpreter.
 */
export const pytorch = {
  name: "pytorch",
  title: "PyTorch",
  /** Packages that pip installs with torch, which works without numpy; our host does not. */
  needs: ["numpy"],
} as const;
