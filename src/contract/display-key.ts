const PLAIN = /^[A-Za-z0-9_.-]{1,64}$/;

/** A caller's key as a problem may show it: plain names as they are, anything else escaped to ASCII, quoted and cut. */
export function displayKey(key: string): string {
  if (PLAIN.test(key)) return key;
  const shown = key.length > 48 ? `${key.slice(0, 48)}…` : key;
  let text = "";
  for (let i = 0; i < shown.length; i += 1) {
    const unit = shown.charCodeAt(i);
    if (unit < 0x20 || unit > 0x7e)
      text += unit === 0x2026 && i === 48 ? "..." : `\\u${unit.toString(16).padStart(4, "0")}`;
    else if (unit === 0x22 || unit === 0x5c) text += `\\${shown[i]}`;
    else text += shown[i];
  }
  return `"${text}"`;
}
