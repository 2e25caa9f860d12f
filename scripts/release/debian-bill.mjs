/** Debian packages, one "name version architecture" a line apart by tabs, as a CycloneDX document about an image. */
export function debianBill(text, { image, version, digest }) {
  const components = text
    .trim()
    .split("\n")
    .map((line) => line.split("\t"))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, packageVersion, architecture]) => ({
      type: "library",
      name,
      version: packageVersion,
      purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(packageVersion)}?arch=${architecture}`,
    }));
  const hashes = [{ alg: "SHA-256", content: digest.replace("sha256:", "") }];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { type: "container", name: image, version, hashes } },
    components,
  };
}
