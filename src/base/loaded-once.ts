/**
 * Returns a function that loads code with its first call and returns what was loaded: a promise until it is there, and
 * the value itself from then on. A load that failed is tried again.
 */
export function loadedOnce<T extends object>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;
  const begin = async (): Promise<T> => {
    try {
      return (loaded = await load());
    } finally {
      loading = undefined;
    }
  };
  return () => loaded ?? (loading ??= begin());
}
