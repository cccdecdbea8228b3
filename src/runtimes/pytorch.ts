/** PyTorch has a C++ interface alone, so that its models run in a Python of their own: there is no library to install, but an interpreter to find. */
export const pytorch = {
  name: "pytorch",
  title: "PyTorch",
  /** Python modules that tell what an interpreter can serve. */
  modules: ["torch", "sklearn"],
  /** Answers `kserving runtimes install pytorch`, behind the title. */
  howToInstall:
    "its models run in a Python of their own, as it has no C library to install. Give it to one: python3 -m venv VENV && VENV/bin/pip install numpy torch (3 GB with CUDA; pytorch.org has an index with CPU builds alone), or apt-get install python3-torch. Then start with VIRTUAL_ENV=VENV, or -o python=VENV/bin/python.",
} as const;
