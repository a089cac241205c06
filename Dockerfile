# An image that runs `rejoinder serve` as an ordinary user. Runs, settings and the cache are in /data.
#   docker build -t rejoinder .
#   docker run -p 8701:8701 -v rejoinder:/data -e REJOINDER_TOKEN rejoinder
# Any other command works too: docker run -v rejoinder:/data rejoinder doctor
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/rejoinder \
    && /opt/rejoinder/bin/python -m pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[arrow,postgres,web,xlsx]"

FROM python:3.11-slim
RUN useradd --uid 1000 --create-home rejoinder \
    && mkdir -p /data/runs \
    && chown -R rejoinder:rejoinder /data
COPY --from=build /opt/rejoinder /opt/rejoinder
ENV PATH="/opt/rejoinder/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    REJOINDER_CACHE=/data/cache \
    REJOINDER_CONFIG=/data/config \
    REJOINDER_DATA=/data/sets
USER rejoinder
WORKDIR /data
VOLUME /data
EXPOSE 8701
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8701/health', timeout=4)"]
ENTRYPOINT ["rejoinder"]
CMD ["serve", "runs", "--host", "0.0.0.0", "--port", "8701", "--url", "http://localhost:8701"]
