// Resources that are sent as base64: the text that they are, and the other way round.

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export const isBase64 = (text: string): boolean => text.length % 4 === 0 && BASE64.test(text);

/**
 * What a lenient client would decode, as base64: many take line ends, the alphabet for addresses, and an end that is not
 * filled up. Null if it is no base64.
 */
export function asBase64(text: string): string | null {
  const digits = text
    .replace(/\s+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/={1,2}$/, '');
  const filled = digits + '='.repeat((4 - (digits.length % 4)) % 4);
  return digits.length % 4 !== 1 && isBase64(filled) ? filled : null;
}

/**
 * What is sent as text. `exact` is false where it is not UTF-8: then the text is only good for looking at, and cannot be
 * encoded again.
 */
export function blobText(base64: string): { text: string; exact: boolean } {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), exact: true };
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), exact: false };
  }
}

export function textBlob(text: string): string {
  let binary = '';
  const bytes = new TextEncoder().encode(text);
  // The runtime takes only so many arguments at once.
  for (let at = 0; at < bytes.length; at += 8_192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(binary);
}
