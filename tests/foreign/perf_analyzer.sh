#!/usr/bin/env bash
# Puts NVIDIA's perf_analyzer, as the last wheel that has it for an older C library brings it, into a folder, with the
# two libraries that it is linked with: perf_analyzer.sh FOLDER. Then: FOLDER/perf_analyzer -m MODEL -u HOST:PORT -i grpc
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
python=${PYTHON:-python3}
"$python" -m pip download --quiet --no-deps --dest "$folder/wheels" tritonclient==2.41.1 nvidia-cuda-runtime-cu12==12.8.90
for wheel in "$folder"/wheels/*.whl; do
  "$python" -m zipfile -e "$wheel" "$folder/unpacked"
done
(cd "$folder" && apt-get download -qq libb64-0d && dpkg -x libb64-0d_*.deb unpacked)
binary=$(find "$folder/unpacked" -name perf_analyzer -type f)
libraries=$(find "$folder/unpacked" -name 'libb64.so*' -o -name 'libcudart.so*' | xargs -n1 dirname | sort -u | paste -sd:)
chmod +x "$binary"
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$binary" >"$folder/perf_analyzer"
chmod +x "$folder/perf_analyzer"
"$folder/perf_analyzer" --version
