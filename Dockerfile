# Veil's search page in a container: no torch, no root, nothing written outside /data.
#   docker build -t veil .
#   docker run --rm -it -v veil:/data veil fetch glove-100d minilm icd10cm
#   docker run --rm -it -v veil:/data -p 127.0.0.1:8765:8765 --read-only --tmpfs /tmp veil
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels . \
    && pip wheel --no-cache-dir --wheel-dir /wheels "$(ls /wheels/veil-*.whl)[search,web]"

FROM python:3.12-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels 'veil[search,web]' \
    && useradd --create-home --uid 10001 veil \
    && install -d -m 0700 -o veil -g veil /data
ENV VEIL_CACHE=/data/cache VEIL_DATA=/data/own HOME=/tmp PYTHONDONTWRITEBYTECODE=1
USER veil
VOLUME /data
EXPOSE 8765
# Answers everybody the same, and tells nothing.
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen(r.Request('http://127.0.0.1:8765/robots.txt', headers={'Host': 'localhost:8765'}), timeout=4)"]
ENTRYPOINT ["veil"]
CMD ["serve", "--host", "0.0.0.0", "--allow-host", "localhost:8765", "--no-browser"]
