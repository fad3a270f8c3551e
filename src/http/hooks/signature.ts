// Whether a gateway signed the bytes of a request. Where its secret is set, a request of that gateway has to be signed
// besides carrying a key.

import { GuardError } from '../../core/errors.ts';
import { isRecent, isSigned } from '../../guard/signed-requests.ts';
import type { Signed } from '../serving/route.ts';

/** ToolHive signs the time, a dot and the body. A request that is older than 5 minutes, or from the future, is refused. */
export const signedByToolHive: Signed = (body, request, { config, deps }) => {
  const { toolhiveSecret } = config;
  if (toolhiveSecret === null) return;
  const time = request.headers.get('x-toolhive-timestamp') ?? '';
  const signature = request.headers.get('x-toolhive-signature') ?? '';
  const isTheirs =
    isRecent(time, deps.now()) && isSigned(toolhiveSecret, [`${time}.`, body], 'sha256=', signature);
  if (!isTheirs) throw unsigned('ToolHive');
};

/** Obot signs the body alone, so an old request that is sent again cannot be recognised. */
export const signedByObot: Signed = (body, request, { config }) => {
  const { obotSecret } = config;
  if (obotSecret === null) return;
  const signature = request.headers.get('x-obot-signature-256') ?? '';
  if (!isSigned(obotSecret, [body], '', signature.replace(/^sha256=/, ''))) throw unsigned('Obot');
};

function unsigned(gateway: string): GuardError {
  return new GuardError('unauthenticated', `This request is not signed by ${gateway}, or it is too old.`);
}
