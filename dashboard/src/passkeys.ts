// Asks the browser to make a passkey, or to sign with one. The browser's own functions read the service's options and
// write the answer as JSON: all browsers have them since 2025, so no package is needed. The service verifies the answer.

/** Options as the service sends them, in the JSON form of WebAuthn. */
export type Options = { challenge: string } & Record<string, unknown>;

/** Why passkeys cannot be used on this page, or null. `origin` is the address on whose pages they work. */
export function passkeyFault(origin: string | null): string | null {
  if (origin === null) {
    return 'Browsers offer passkeys only for a name over https, and for localhost. This service has another address: an admin can set TOOLGATE_PUBLIC_URL.';
  }
  if (origin !== location.origin) return `Passkeys work at ${origin}: open the dashboard there.`;
  if (window.PublicKeyCredential?.parseCreationOptionsFromJSON === undefined) {
    return 'This browser cannot use passkeys. A newer one can.';
  }
  return null;
}

/** Makes a passkey; the answer goes to the service as it is. */
export async function makePasskey(options: Options): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never);
  return inWords(navigator.credentials.create({ publicKey }));
}

/** Signs the challenge of the options with a passkey; the answer goes to the service as it is. */
export async function signWithPasskey(options: Options): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never);
  return inWords(navigator.credentials.get({ publicKey }));
}

/** The browser's errors in plain words. */
async function inWords(asked: Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = (await asked) as PublicKeyCredential | null;
    return credential?.toJSON();
  } catch (error) {
    const { name } = error as Error;
    if (name === 'NotAllowedError') throw new Error('No passkey was used. Try again.');
    if (name === 'InvalidStateError') throw new Error('You have a passkey on this device already.');
    if (name === 'SecurityError')
      throw new Error('Passkeys do not work at this address. Open the service at its public address.');
    throw error;
  }
}
