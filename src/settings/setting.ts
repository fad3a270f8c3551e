// What a setting is, and the three ways to define one. settings.ts lists them all.

export interface Setting<T> {
  env: string;
  meaning: string;
  /** The default as text; null when there is none. */
  fallback: string | null;
  secret: boolean;
  read: (text: string) => T;
}

export function setting<T>(
  env: string,
  fallback: string,
  read: (text: string) => T,
  meaning: string,
): Setting<T> {
  return { env, fallback, read, meaning, secret: false };
}

export function optional<T>(env: string, read: (text: string) => T, meaning: string): Setting<T | null> {
  return { env, fallback: null, read, meaning, secret: false };
}

export function secret<T>(env: string, read: (text: string) => T, meaning: string): Setting<T | null> {
  return { env, fallback: null, read, meaning, secret: true };
}
