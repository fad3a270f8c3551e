// Digests of what a run knows. They are keyed with a key of the run's own: whoever reads the store cannot try values, and
// the same value has another digest in another run. With all 65,536 values that a run can know, a value that it does not
// know has the digest of one of them with a probability of 2^-48.

const ALGORITHM = 'sha256';
const BYTES = 8;

/** The first 8 bytes of the HMAC-SHA-256 in base64url: 11 characters. It takes a microsecond. */
export function digestOf(key: Uint8Array, comparable: string): string {
  return finished(new Bun.CryptoHasher(ALGORITHM, key), comparable);
}

/** The digest of each, in order. With copies of a hasher that has the key, each takes three quarters of the time. */
export function* digestsOf(key: Uint8Array, comparables: Iterable<string>): Generator<string> {
  const keyed = new Bun.CryptoHasher(ALGORITHM, key);
  for (const each of comparables) yield finished(keyed.copy(), each);
}

function finished(hasher: Bun.CryptoHasher, comparable: string): string {
  return hasher.update(comparable).digest().toString('base64url', 0, BYTES);
}
