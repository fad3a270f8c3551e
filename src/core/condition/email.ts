// `email.domain(a)` of the condition language: the domain of one plain address, in lower case. null is a failure: for lists,
// display names, comments, quotes, address literals, and for what mail servers have been seen to deliver elsewhere, namely
// `%` and `!` (routes), `=?` (encoded words) and characters outside ASCII. A domain in another script is written as `xn--`.

/** Names joined by single dots; the first begins with no hyphen, which a mail program might take for an option. */
const LOCAL = /^[a-z0-9_+'=&~#][a-z0-9_+'=&~#-]*(?:\.[a-z0-9_+'=&~#-]+)*$/i;
const ASCII = /^[\0-\x7f]*$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** The last label of a host name begins with a letter; that of an IP address does not. */
const LAST = /^[a-z]/;

export function emailDomain(address: string): string | null {
  if (address.length > 254) return null;
  const [local, domain, ...more] = address.split('@');
  if (local === undefined || domain === undefined || more.length > 0) return null;
  if (local.length > 64 || !LOCAL.test(local)) return null;
  // The Kelvin sign and its like become ASCII letters in lower case.
  if (!ASCII.test(domain)) return null;
  const labels = domain.toLowerCase().split('.');
  return labels.every(label => LABEL.test(label)) && LAST.test(labels.at(-1) as string)
    ? labels.join('.')
    : null;
}
