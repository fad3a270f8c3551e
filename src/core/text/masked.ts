// Addresses as people may see them who must not learn them: enough to tell one from another.

/** `ann@example.com` as `a…@example.com`. */
export function maskedEmail(address: string): string {
  const at = address.lastIndexOf('@');
  return at < 1 ? '…' : `${[...address][0]}…${address.slice(at)}`;
}

/** The host of an address; its path and query are often secrets. */
export function maskedUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '…';
}
