// E-mail to some addresses, through the mail server of the service.

import { isEmail } from '../text/email.ts';
import { maskedEmail } from '../text/masked.ts';
import type { ChannelType, DeclaredFields } from './channel-type.ts';

const MAX_ADDRESSES = 50;

export const email: ChannelType<{ to: readonly string[] }> = {
  fields: ['to'],
  read: declared => ({ to: addresses(declared) }),
  target: ({ to }) => to.map(maskedEmail).join(', ') || null,
  lacks: (_, { smtpUrl }) =>
    smtpUrl === null
      ? 'sends e-mail but TOOLGATE_SMTP_URL is not set: set it to your mail server, for example ' +
        'smtp://user:password@host:587.'
      : null,
};

function addresses({ given: { to }, wrong }: DeclaredFields): string[] {
  if (to === undefined || to === null) throw wrong(' needs "to", a list of e-mail addresses.');
  const isList = Array.isArray(to) && to.length >= 1 && to.length <= MAX_ADDRESSES;
  if (!isList) throw wrong(`.to must be a list of 1 to ${MAX_ADDRESSES} e-mail addresses.`);
  const odd = to.find(each => typeof each !== 'string' || !isEmail(each));
  if (odd !== undefined) throw wrong(`.to has ${JSON.stringify(odd)}, which is no e-mail address.`);
  return to as string[];
}
